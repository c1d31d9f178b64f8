import type { InspectedRequest } from '../../../customers/usage/report.js';

/** Repeat this search, in three languages; `$SEARCH402_API_KEY` stands for the key. */
export function callsOf(
  one: Pick<InspectedRequest, 'query' | 'maxResults' | 'maxDescriptionLength'>,
  publicUrl: string,
): Readonly<Record<string, string>> {
  const { query, maxResults, maxDescriptionLength } = one;
  const body = JSON.stringify({ query, maxResults, maxDescriptionLength });
  const url = `${publicUrl}/search`;
  return {
    curl:
      `curl ${url} \\\n  -H "Authorization: Bearer $SEARCH402_API_KEY" \\\n` +
      `  -H 'Content-Type: application/json' \\\n  -d '${body.replaceAll("'", `'\\''`)}'`,
    TypeScript:
      `const response = await fetch(${JSON.stringify(url)}, {\n  method: 'POST',\n  headers: {\n` +
      '    Authorization: `Bearer ${process.env.SEARCH402_API_KEY}`,\n' +
      `    'Content-Type': 'application/json',\n  },\n  body: JSON.stringify(${body}),\n});\n` +
      'const { result } = await response.json();',
    Python:
      `import json, os, urllib.request\n\nrequest = urllib.request.Request(\n    ${JSON.stringify(url)},\n` +
      `    data=json.dumps(${body}).encode(),\n    headers={\n` +
      `        "Authorization": f"Bearer {os.environ['SEARCH402_API_KEY']}",\n` +
      `        "Content-Type": "application/json",\n    },\n)\n` +
      'result = json.load(urllib.request.urlopen(request))["result"]',
  };
}
