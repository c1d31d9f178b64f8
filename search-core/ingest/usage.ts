export const USAGE = `Fill the search index.

  npm run index -- FILE.jsonl            replace the index with the pages of a JSON Lines file
                                         ({"url","title","text"} a line; .gz; - reads standard input)
  npm run index -- jsonl FILE            the same, spelled out
  npm run index -- starter [DIR]         replace it with the READMEs of installed npm packages
  npm run index -- warc FILE…            replace it with the pages of web archives (.warc, .warc.gz)
  npm run index -- wet FILE…             the same from archives of extracted text (.warc.wet.gz)
  npm run index -- check                 verify the index: checksums, counts, order
  npm run index -- delete URL…           remove pages

Options
  --index DIR     the index directory (default: data/index)
  --add           add to the index, replacing pages with the same URL
  --json          print the report as one line of JSON
  --help          this text

The old index serves until the new one is complete; a run that fails or is stopped changes nothing.
`;
