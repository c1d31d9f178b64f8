import { assetPath, type AssetName } from '../assets.js';
import { html, type Html } from '../html.js';

/** The pages of the documentation, in the order in which they are read. */
export const DOC_PAGES = [
  { path: '/docs', name: 'Quickstart' },
  { path: '/docs/queries', name: 'Writing queries' },
  { path: '/docs/paying', name: 'Paying' },
  { path: '/docs/limits', name: 'Limits' },
  { path: '/docs/errors', name: 'Errors' },
  { path: '/docs/sdks', name: 'SDKs' },
  { path: '/docs/mcp', name: 'MCP' },
  { path: '/docs/api', name: 'API reference' },
] as const;

export type DocPath = (typeof DOC_PAGES)[number]['path'];

/** One page of the documentation as text; `contents` are the entries of a long page. */
export function docPage(page: {
  readonly path: DocPath;
  readonly title: string;
  readonly body: Html;
  readonly scripts?: readonly Extract<AssetName, `${string}.js`>[];
  readonly contents?: readonly { readonly id: string; readonly name: string }[];
}): string {
  const { path, title, body, scripts = [], contents = [] } = page;
  const at = DOC_PAGES.findIndex((one) => one.path === path);
  const [previous, next] = [DOC_PAGES[at - 1], DOC_PAGES[at + 1]];
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · search402</title>
        <link
          rel="preload"
          href="${assetPath('geist.woff2')}"
          as="font"
          type="font/woff2"
          crossorigin
        />
        <link rel="stylesheet" href="${assetPath('console.css')}" />
        <link rel="stylesheet" href="${assetPath('reference.css')}" />
        <link rel="icon" href="${assetPath('icon.svg')}" type="image/svg+xml" />
        ${['console.js' as const, ...scripts].map((name) => html`<script type="module" src="${assetPath(name)}"></script>`)}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="mark" href="/docs" aria-label="search402, documentation">search<b>402</b></a>
          <div class="who"><a href="/openapi.json">openapi.json</a></div>
        </header>
        <div class="frame">
          <nav aria-label="Documentation">
            <ul>
              ${DOC_PAGES.map(
                (one) =>
                  html`<li>
                    <a href="${one.path}" ${one.path === path ? html`aria-current="page"` : ''}
                      >${one.name}</a
                    >
                  </li>`,
              )}
            </ul>
          </nav>
          <main id="main" tabindex="-1" class="prose">
            <div class="title"><h1>${title}</h1></div>
            ${
              contents.length > 0 &&
              html`<details class="contents" open>
                <summary>On this page</summary>
                <ul>
                  ${contents.map(({ id, name }) => html`<li><a href="#${id}">${name}</a></li>`)}
                </ul>
              </details>`
            }
            ${body}
            <nav class="pager" aria-label="Next pages">
              ${previous && html`<a class="button" rel="prev" href="${previous.path}">← ${previous.name}</a>`}
              ${next && html`<a class="button" rel="next" href="${next.path}">${next.name} →</a>`}
            </nav>
          </main>
        </div>
      </body>
    </html>`.text;
}
