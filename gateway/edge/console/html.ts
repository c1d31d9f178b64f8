/** Text that may stand in a page as it is. Only `html` makes it, and it escapes what it is given. */
export class Html {
  constructor(readonly text: string) {}
}

type Content = Html | string | number | undefined | null | false | readonly Content[];

/** A template of HTML: everything that is put into it is escaped, unless it is `Html` itself. */
export function html(strings: TemplateStringsArray, ...contents: readonly Content[]): Html {
  const parts = strings.map((part, index) => part + render(contents[index]));
  return new Html(parts.join(''));
}

function render(content: Content): string {
  if (content === undefined || content === null || content === false) return '';
  if (content instanceof Html) return content.text;
  if (typeof content === 'object') return content.map(render).join('');
  return String(content).replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? sign);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
