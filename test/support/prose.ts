/** English prose made from a seed: the same seed, the same words; different seeds share little. */
const SUBJECTS =
  'The keeper|A sailor|The committee|Our neighbour|Every student|The old miller|A careful engineer|The library'.split(
    '|',
  );
const VERBS = 'repairs|describes|measures|remembers|collects|observes|delivers|compares'.split('|');
const THINGS =
  'the northern bridge|several wooden boats|a long winter report|the garden instruments|every broken clock|the printed maps|some forgotten letters|the river stones'.split(
    '|',
  );
const ENDS =
  'before the market opens|while the rain continues|because nobody else would|after the evening meal|with great patience|without any hurry|in spite of the weather|whenever there is time'.split(
    '|',
  );

export function prose(seed: number, sentences = 14): string {
  let state = (seed + 1) * 2_654_435_761;
  const pick = (list: readonly string[]): string => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return list[state % list.length] ?? '';
  };
  return Array.from({ length: sentences }, () => {
    return `${pick(SUBJECTS)} ${pick(VERBS)} ${pick(THINGS)} and ${pick(THINGS)} ${pick(ENDS)}, number ${state % 9_973}.`;
  }).join(' ');
}

/** A web page with a menu, a main text and a footer. */
export function htmlPage(
  seed: number,
  more: { title?: string; head?: string; body?: string } = {},
): string {
  const title = more.title ?? `Report ${seed} of the harbour`;
  return `<!doctype html><html lang="en"><head><title>${title}</title>${more.head ?? ''}</head>
<body><nav><ul><li><a href="/">Home</a></li><li><a href="/shop">Shop menu</a></li></ul></nav>
<main><article><h1>${title}</h1><p>${prose(seed, 7)}</p><p>${prose(seed + 50_000, 7)}</p>
${more.body ?? ''}</article></main><footer>Imprint and cookie notice</footer></body></html>`;
}
