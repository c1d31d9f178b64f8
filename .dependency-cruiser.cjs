/**
 * Imports run one way (see ARCHITECTURE.md): first from wing to wing, then from room to room within
 * a wing. Each names what it may use; anything else is an error.
 */
const WINGS = {
  ground: [],
  money: ['ground'],
  customers: ['ground'],
  search: ['ground', 'money', 'customers'],
  edge: ['ground', 'money/x402', 'customers', 'search'],
  dev: ['ground', 'customers'],
  wiring: ['ground', 'money', 'customers', 'search', 'edge', 'dev'],
};

const ROOMS = {
  ground: {
    domain: [],
    store: ['domain'],
    observe: ['domain'],
    processes: ['domain', 'observe'],
  },
  money: {
    x402: [],
    chain: [],
    payment: ['x402', 'chain'],
    ledger: ['payment'],
    channels: ['x402', 'payment'],
    'channel-books': ['x402', 'payment', 'ledger', 'channels'],
    settlement: ['x402', 'chain', 'payment', 'ledger'],
    claims: ['x402', 'chain', 'payment', 'ledger', 'channels', 'channel-books', 'settlement'],
  },
  customers: {
    keys: [],
    limits: [],
    credits: ['keys'],
    accounts: ['keys', 'credits'],
    packs: ['keys', 'credits', 'accounts'],
    people: ['keys', 'limits', 'credits', 'accounts'],
    usage: ['keys', 'credits', 'accounts', 'people'],
  },
  edge: {
    http: [],
    mcp: ['http'],
    console: ['http'],
    front: ['http', 'console'],
    oauth: ['http', 'console'],
    faces: ['http'],
  },
};

/** The rooms of search-core; all may use its root: page, contract, and the port of the engines. */
const SEARCH_CORE = {
  analyze: [],
  disk: [],
  rank: [],
  passage: ['analyze'],
  index: ['analyze', 'disk', 'passage', 'rank'],
  query: ['analyze', 'index', 'passage', 'rank'],
  threads: ['disk', 'index', 'query'],
  engines: ['analyze', 'disk', 'index', 'passage', 'query', 'rank', 'threads'],
  ingest: ['disk', 'engines', 'index', 'threads'],
  service: ['engines'],
};

/** What search-core shows to the gateway: the shapes of its HTTP interface. */
const CONTRACT = '^search-core/contract\\.ts$';
const OWN = '^(gateway|search-core|sdk|console|commands|test)/';

const wing = ([name, allowed]) => ({
  name: `wing-${name}`,
  comment: `gateway/${name} may use ${allowed.join(', ') || 'nothing of ours'}`,
  severity: 'error',
  from: { path: `^gateway/${name}/` },
  to: {
    path: OWN,
    pathNot: [
      ...[name, ...allowed].map((other) => `^gateway/${other}/`),
      ...(['search', 'edge', 'wiring'].includes(name) ? [CONTRACT] : []),
    ],
  },
});

const roomsOf = ([house, rooms]) =>
  Object.entries(rooms).map(([name, allowed]) => ({
    name: `room-${house}-${name}`,
    comment: `within ${house}, ${name} may use ${allowed.join(', ') || 'no other room'}`,
    severity: 'error',
    from: { path: `^${house}/${name}/` },
    to: {
      path: `^${house}/[^/]+/`,
      pathNot: [name, ...allowed].map((other) => `^${house}/${other}/`),
    },
  }));

const only = (name, path, users) => ({
  name: `only-some-know-${name}`,
  comment: `only these know ${name}: ${users.join(', ')}`,
  severity: 'error',
  from: { path: '^gateway/', pathNot: users.map((user) => `^gateway/${user}(/|\\.ts$)`) },
  to: { path: `^node_modules/${path}` },
});

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'search-core-stands-alone',
      severity: 'error',
      from: { path: '^search-core/' },
      to: { path: '^(gateway|contracts-abi|sdk|console|commands|test)/' },
    },
    {
      name: 'contracts-stand-alone',
      severity: 'error',
      from: { path: '^contracts-abi/' },
      to: { path: OWN },
    },
    {
      name: 'network-stands-alone',
      severity: 'error',
      from: { path: '^network/' },
      to: { path: `${OWN}|^contracts-abi/` },
    },
    ...Object.entries(WINGS).map(wing),
    ...Object.entries(ROOMS).flatMap(([name, rooms]) => roomsOf([`gateway/${name}`, rooms])),
    ...roomsOf(['search-core', SEARCH_CORE]),
    only('express', 'express/', ['edge', 'wiring']),
    only('viem', 'viem/', [
      'money/chain',
      'money/payment',
      'money/settlement',
      'money/channels',
      'money/claims',
      'dev',
    ]),
    only('sql', '(kysely|libsql|pg)/', [
      'ground/store',
      'customers',
      'money/ledger',
      'money/channel-books',
      'money/settlement',
      'edge/oauth',
    ]),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types'] },
  },
};
