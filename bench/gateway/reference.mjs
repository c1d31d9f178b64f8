// The peer of `exact`: @x402/express with its facilitator in the same process, in front of the same
// search-core. Environment: RPC_URL, RELAYER_KEY, PAY_TO, SEARCH_CORE_URL. Reports its port to its parent.
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import { ExactEvmScheme as ServerScheme } from '@x402/evm/exact/server';
import { ExactEvmScheme as FacilitatorScheme } from '@x402/evm/exact/facilitator';
import { x402Facilitator } from '@x402/core/facilitator';
import { inProcess, NETWORK, routes, serve, signer } from './reference-parts.mjs';

const facilitator = new x402Facilitator().register(NETWORK, new FacilitatorScheme(signer));
const server = new x402ResourceServer(inProcess(facilitator)).register(NETWORK, new ServerScheme());
serve(paymentMiddleware(routes('exact'), server));
