import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** One compiled contract, as it is committed under `artifacts/`. */
export interface Artifact {
  readonly contract: string;
  /** The compiler's full version. */
  readonly solc: string;
  /** Code that runs the constructor, without its arguments. */
  readonly creationCode: `0x${string}`;
  /** The code at the contract's address; immutables are zero. */
  readonly runtimeCode: `0x${string}`;
}

interface Solc {
  version(): string;
  compile(input: string, callbacks: { import: (path: string) => SolcSource }): string;
}
type SolcSource = { readonly contents: string } | { readonly error: string };

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts?: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          { evm: { bytecode: { object: string }; deployedBytecode: { object: string } } }
        >
      >
    >
  >;
}

const nodeRequire = createRequire(import.meta.url);

function resolveImport(path: string): SolcSource {
  try {
    return { contents: readFileSync(nodeRequire.resolve(path), 'utf8') };
  } catch (error) {
    return { error: String(error) };
  }
}

/** The sources under `src/`, and which of their contracts are committed. */
export const SOURCES = [
  ['DevUsdc.sol', ['DevUsdc']],
  ['CappedBatch.sol', ['CappedBatch']],
  ['BatchSettlement.sol', ['BatchSettlement', 'DepositCollector']],
  [
    'TestWallets.sol',
    [
      'TestWalletFactory',
      'TestDelegate',
      'GaspriceBurner',
      'GasleftBurner',
      'BalanceBurner',
      'BasefeeBurner',
    ],
  ],
] as const;

/**
 * Compiles these contracts of one Solidity source with the pinned compiler and the installed OpenZeppelin contracts.
 * `evmVersion` is Cancun, which every chain of interest runs. The output depends on nothing else:
 * the metadata hash is left out, so the same source gives the same bytes anywhere.
 * Throws with the compiler's own messages when the source does not compile.
 */
export function compileContracts(
  fileName: string,
  source: string,
  contracts: readonly string[],
): Artifact[] {
  const wanted = ['evm.bytecode.object', 'evm.deployedBytecode.object'];
  const solc = nodeRequire('solc') as Solc;
  const output = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: { [fileName]: { content: source } },
        settings: {
          optimizer: { enabled: true, runs: 10_000 },
          evmVersion: 'cancun',
          metadata: { bytecodeHash: 'none', appendCBOR: false },
          outputSelection: {
            [fileName]: Object.fromEntries(contracts.map((contract) => [contract, wanted])),
          },
        },
      }),
      { import: resolveImport },
    ),
  ) as SolcOutput;
  const errors = (output.errors ?? []).filter((error) => error.severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((e) => e.formattedMessage).join('\n'));
  return Object.entries(output.contracts?.[fileName] ?? {}).map(([contract, { evm }]) => ({
    contract,
    solc: solc.version(),
    creationCode: `0x${evm.bytecode.object}`,
    runtimeCode: `0x${evm.deployedBytecode.object}`,
  }));
}

/**
 * Multicall3's code, as viem carries it for calls without a deployment. The first 32 bytes are the
 * constructor, which returns everything behind them.
 */
export function multicall3(): Artifact {
  const folder = dirname(dirname(nodeRequire.resolve('viem')));
  const text = readFileSync(join(folder, '_esm', 'constants', 'contracts.js'), 'utf8');
  const [, code = ''] = /multicall3Bytecode = '0x([0-9a-f]+)'/.exec(text) ?? [];
  if (code.length < 1000) throw new Error('viem carries no Multicall3 bytecode where expected');
  return {
    contract: 'Multicall3',
    solc: 'carried by viem',
    creationCode: `0x${code}`,
    runtimeCode: `0x${code.slice(64)}`,
  };
}

/** The text of the file under `artifacts/` that holds this contract, formatted as the house does. */
export function artifactFile(artifact: Artifact): string {
  return `/** Made by \`npm run compile-token\`; do not edit. */
export const ${artifact.contract} = {
  contract: '${artifact.contract}',
  solc: '${artifact.solc}',
  creationCode:
    '${artifact.creationCode}',
  runtimeCode:
    '${artifact.runtimeCode}',
} as const;
`;
}
