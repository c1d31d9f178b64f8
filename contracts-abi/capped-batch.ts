import { encodeDeployData, encodePacked, getContractAddress, parseAbi, type Hex } from 'viem';
import { CappedBatch } from './artifacts/CappedBatch.js';

/** `src/CappedBatch.sol`: many calls in one transaction, each with a gas cap of its own. */
export const cappedBatchAbi = parseAbi([
  'struct Call { address target; bytes data; }',
  'function run(uint256 gasMax, Call[] calls)',
  'function codeHash(address account) view returns (bytes32)',
]);

/** Arachnid's deterministic deployment proxy, at this address on Base and nearly every chain. */
export const DEPLOYMENT_PROXY_ADDRESS = '0x4e59b44847b379578588920ca78fbf26c0b4956c';

const SALT: Hex = `0x${'0'.repeat(64)}`;

/**
 * Where the batch contract is on every chain (EIP-1014): the address follows from its code, so that
 * nobody can put another code there, and whoever deploys it deploys it for everybody.
 */
export const CAPPED_BATCH_ADDRESS = getContractAddress({
  bytecode: CappedBatch.creationCode,
  from: DEPLOYMENT_PROXY_ADDRESS,
  opcode: 'CREATE2',
  salt: SALT,
});

/** What the deployment proxy is called with to put the contract there: the salt and the code. */
export const CAPPED_BATCH_DEPLOYMENT = encodePacked(
  ['bytes32', 'bytes'],
  [SALT, encodeDeployData({ abi: [], bytecode: CappedBatch.creationCode })],
);
