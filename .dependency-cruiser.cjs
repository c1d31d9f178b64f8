/**
 * Imports run one way (see ARCHITECTURE.md). Each room names the rooms that it may use; anything
 * else is an error.
 */
const room = (name, allowed) => ({
  name: `gateway/${name}`,
  severity: 'error',
  from: { path: `^gateway/${name}/` },
  to: {
    path: '^(gateway|search-core|sdk|console)/',
    pathNot: [name, ...allowed].map((other) =>
      other === 'search-core' ? '^search-core/contract\\.ts$' : `^gateway/${other}/`,
    ),
  },
});

const only = (what, rooms) => ({
  name: `only-${rooms.join('-')}-know-${what.name}`,
  severity: 'error',
  from: { path: '^gateway/', pathNot: rooms.map((name) => `^gateway/${name}(/|\\.ts$)`) },
  to: { path: `^node_modules/${what.path}` },
});

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'search-core-stands-alone',
      severity: 'error',
      from: { path: '^search-core/' },
      to: { path: '^(gateway|contracts-abi|sdk|console)/' },
    },
    {
      name: 'contracts-stand-alone',
      severity: 'error',
      from: { path: '^contracts-abi/' },
      to: { path: '^(gateway|search-core|sdk|console)/' },
    },
    room('domain', []),
    room('x402', ['domain']),
    room('payment', ['domain', 'x402', 'chain']),
    room('chain', ['domain']),
    room('store', ['domain']),
    room('ledger', ['domain', 'payment', 'store']),
    room('settlement', ['domain', 'payment', 'ledger', 'chain', 'x402', 'store']),
    room('keys', ['domain', 'store']),
    room('accounts', ['domain', 'store', 'keys']),
    room('limits', ['domain', 'store']),
    room('observe', ['domain']),
    room('search', [
      'domain',
      'x402',
      'payment',
      'ledger',
      'settlement',
      'keys',
      'accounts',
      'limits',
      'observe',
      'search-core',
    ]),
    room('mcp', ['domain', 'search', 'http', 'x402', 'keys', 'limits', 'search-core']),
    room('oauth', ['domain', 'store', 'keys', 'accounts', 'limits', 'console']),
    room('console', ['domain', 'store', 'keys', 'accounts', 'limits', 'http']),
    only({ name: 'express', path: 'express/' }, [
      'http',
      'mcp',
      'oauth',
      'console',
      'app',
      'people-access',
      'service',
      'tool-access',
      'main',
    ]),
    only({ name: 'viem', path: 'viem/' }, ['chain', 'payment', 'settlement', 'dev']),
    only({ name: 'sql', path: '(kysely|libsql|pg)/' }, [
      'store',
      'ledger',
      'accounts',
      'keys',
      'limits',
      'settlement',
      'oauth',
    ]),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types'] },
  },
};
