/** What only Node can do: keep payments in a file, and sign with a private key. */
export { FileStore } from './file-store.js';
export { privateKeyAccount } from './private-key.js';
