export const USAGE = `Fill the search index.

  npm run index -- FILE.jsonl            replace the index with the pages of a JSON Lines file
                                         ({"url","title","text"} a line; .gz; - reads standard input)
  npm run index -- jsonl FILE            the same, spelled out
  npm run index -- starter [DIR]         replace it with the READMEs of installed npm packages
  npm run index -- warc FILE…            replace it with the pages of web archives (.warc, .warc.gz)
  npm run index -- wet FILE…             the same from archives of extracted text (.warc.wet.gz)
  npm run index -- crawl URL…            add the pages of web sites (robots.txt is obeyed); run it
                                         again to fetch only what has changed
  npm run index -- check                 verify the index: checksums, counts, order
  npm run index -- watch                 keep the index fresh from the sources of a file, until it
                                         is stopped (docs/guides/watching.md)
  npm run index -- delete NAME…          remove pages: an address, a host (example.org), a host and
                                         all below it (*.example.org), a pattern (example.org/old/*)
  npm run index -- takedown NAME…        remove pages at once and for good: no load brings them back

Options
  --index DIR     the index directory (default: data/index)
  --add           add to the index, replacing pages with the same URL
  --replace       crawl: replace the index instead of adding to it, and fetch everything anew
  --depth N       crawl: links to follow from a start address (default: 10)
  --max-pages N   crawl: addresses to fetch in one run (default: 10000)
  --delay S       crawl: seconds between two requests to one host (default: 1)
  --sources FILE  watch: the file of sources (default: data/sources.json)
  --once          watch: end when nothing is due, instead of waiting
  --why TEXT      takedown: why, for the blocklist's comment
  --allow-private crawl, watch: also hosts in private networks and on this machine
  --json          print the report as one line of JSON
  --help          this text

SEARCH_CORE_OPENSEARCH=http://[NAME:PASSWORD@]HOST:9200[,…]/INDEX fills that index instead of a directory.

The old index serves until the new one is complete; a run that fails or is stopped changes nothing.
jsonl, warc, wet and crawl go on where they were stopped when the same command is run again.
`;
