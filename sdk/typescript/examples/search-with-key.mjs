// The first search with a key. Needs SEARCH402_API_KEY; SEARCH402_BASE_URL says where.
import { Search402 } from 'search402';

const client = new Search402();
const { result } = await client.search({ query: 'kestrel nesting cliffs', maxResults: 5 });
for (const { title, url } of result.results) console.log(title, url);
