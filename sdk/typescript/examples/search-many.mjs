// Several simple queries at once, merged by reciprocal rank. Needs SEARCH402_API_KEY.
import { Search402 } from 'search402';

const client = new Search402();
const { results, failures } = await client.searchMany({
  queries: ['kestrel nesting cliffs', 'falcon breeding ledges', 'raptor nest sites'],
});
for (const { score, url } of results.slice(0, 10)) console.log(score.toFixed(4), url);
for (const [query, error] of failures) console.error(`failed: ${query}: ${error}`);
