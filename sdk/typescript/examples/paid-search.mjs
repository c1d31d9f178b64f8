// The first paid search: no account, only a wallet with a little USDC on Base.
// Needs SEARCH402_PRIVATE_KEY; SEARCH402_BASE_URL says where.
import { Search402 } from 'search402';
import { FileStore, privateKeyAccount } from 'search402/node';

const client = new Search402({
  wallet: privateKeyAccount(process.env.SEARCH402_PRIVATE_KEY ?? ''),
  payment: {
    maxPerRequest: '0.001',
    maxPerDay: '0.10',
    maxTotal: '1',
    // Payments survive a restart: nothing is paid twice.
    store: new FileStore(process.env.SEARCH402_STORE ?? 'payments.jsonl'),
    onPayment: ({ status, amountUnits }) => console.log(`payment ${status}: ${amountUnits} units`),
  },
});

console.log(`one search costs ${(await client.quote()).amountUsd} USD`);
const { result } = await client.search({ query: 'kestrel nesting cliffs', maxResults: 5 });
for (const { title, url } of result.results) console.log(title, url);
