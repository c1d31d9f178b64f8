import { expect, test } from '@jest/globals';
import { startFakeSearchCore } from '../support/fake-search-core.js';
import { transfersToPayee } from '../support/pay.js';
import { base64, paymentObject, terms } from '../support/presented.js';
import { startTestService } from '../support/service.js';

test('an authorization that cannot make it into the chain is refused before the search runs', async () => {
  const core = await startFakeSearchCore();
  const service = await startTestService({
    env: {
      SEARCH_CORE_URL: core.url,
      CONFIRMATIONS: '64',
      DEV_BLOCK_TIME_MS: '1000',
      PUBLIC_URL: 'http://localhost:4020',
    },
  });
  try {
    const own = terms({ payTo: service.dev.payTo as `0x${string}` as never });
    const lasting = async (seconds: number) => {
      const validBefore = String(Math.floor(Date.now() / 1000) + seconds);
      const key = service.dev.payerPrivateKey as `0x${string}`;
      return base64(JSON.stringify(await paymentObject(own, { key, validBefore })));
    };
    // A search (5 s) and 66 blocks of a second; the verification alone would be content with 15 s.
    const refused = await service.search(
      { query: 'lighthouse' },
      { 'payment-signature': await lasting(60) },
    );
    expect(refused.status).toBe(402);
    expect(await refused.json()).toMatchObject({
      code: 'payment_invalid',
      detail: expect.stringMatching(/may take 71 s/),
    });
    expect(core.seen).toHaveLength(0);
    expect(await transfersToPayee(service)).toEqual([]);
  } finally {
    await service.stop();
    await core.stop();
  }
});
