/** How a common client of the tool protocol is told about this service. */
export interface ClientSetup {
  readonly id: string;
  readonly name: string;
  /** Where the setup goes. */
  readonly place: string;
  /** Without credentials: the client signs in by itself. */
  readonly signIn: string;
  /** With an API key in place of the sign-in. */
  readonly withKey: string;
  /** A link at which the client takes the server over, where it has one: by signing in, or with a key. */
  readonly install?: string;
  readonly installWithKey?: string;
}

/** What stands in the place of an API key. */
const KEY = 's402_live_…';
const AUTHORIZATION = `Authorization: Bearer ${KEY}`;
const HEADERS = { headers: { Authorization: `Bearer ${KEY}` } };

/** The setups for a keyed `/mcp`, the most used client first. */
export function clientSetups(url: string): readonly ClientSetup[] {
  const servers = (member: string, entry: object) => json({ [member]: { search402: entry } });
  return [
    {
      id: 'claude-code',
      name: 'Claude Code',
      place: 'in a terminal',
      signIn: `claude mcp add --transport http search402 ${url}`,
      withKey: `claude mcp add --transport http search402 ${url} --header "${AUTHORIZATION}"`,
    },
    {
      id: 'cursor',
      name: 'Cursor',
      place: '~/.cursor/mcp.json',
      signIn: servers('mcpServers', { url }),
      withKey: servers('mcpServers', { url, ...HEADERS }),
      install: cursorLink({ url }),
      installWithKey: cursorLink({ url, ...HEADERS }),
    },
    {
      id: 'vscode',
      name: 'VS Code',
      place: '.vscode/mcp.json',
      signIn: servers('servers', { type: 'http', url }),
      withKey: servers('servers', { type: 'http', url, ...HEADERS }),
      install: codeLink({ type: 'http', url }),
      installWithKey: codeLink({ type: 'http', url, ...HEADERS }),
    },
    {
      id: 'codex',
      name: 'Codex',
      place: '~/.codex/config.toml, then codex mcp login search402 or the variable with the key',
      signIn: `[mcp_servers.search402]\nurl = "${url}"`,
      withKey: `[mcp_servers.search402]\nurl = "${url}"\nbearer_token_env_var = "SEARCH402_API_KEY"`,
    },
    {
      id: 'gemini',
      name: 'Gemini CLI',
      place: '~/.gemini/settings.json',
      signIn: servers('mcpServers', { httpUrl: url }),
      withKey: servers('mcpServers', { httpUrl: url, ...HEADERS }),
    },
    {
      id: 'windsurf',
      name: 'Windsurf',
      place: '~/.codeium/windsurf/mcp_config.json',
      signIn: servers('mcpServers', { serverUrl: url }),
      withKey: servers('mcpServers', { serverUrl: url, ...HEADERS }),
    },
  ];
}

/** https://docs.cursor.com/tools/developers: the entry as base64 of JSON. */
function cursorLink(entry: object): string {
  const config = encodeURIComponent(Buffer.from(JSON.stringify(entry)).toString('base64'));
  return `cursor://anysphere.cursor-deeplink/mcp/install?name=search402&config=${config}`;
}

/** https://code.visualstudio.com/api/extension-guides/ai/mcp: the entry with its name, as JSON. */
function codeLink(entry: object): string {
  return `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: 'search402', ...entry }))}`;
}

/**
 * For clients that only start programs, such as Claude Desktop.
 *
 * @param gatewayUrl where searches go, without a path.
 */
export function stdioSetup(gatewayUrl: string): string {
  return json({
    mcpServers: {
      search402: {
        command: 'npm',
        args: ['run', '--silent', 'mcp:stdio', '--prefix', '/path/to/search402'],
        env: { SEARCH402_API_KEY: KEY, SEARCH402_BASE_URL: gatewayUrl },
      },
    },
  });
}

function json(value: object): string {
  return JSON.stringify(value, null, 2);
}
