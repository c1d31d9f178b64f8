/**
 * Why a payment is not acceptable: the strings that the reference implementation emits in `error`
 * and `errorReason`, so that existing clients recognise them.
 */
export const reasons = {
  scheme: 'invalid_exact_evm_scheme',
  network: 'invalid_exact_evm_network_mismatch',
  /** Asset, amount, window or extra differ from what the server asks: the reference's own words. */
  requirements: 'No matching payment requirements',
  payloadType: 'unsupported_payload_type',
  recipient: 'invalid_exact_evm_recipient_mismatch',
  value: 'invalid_exact_evm_payload_authorization_value_mismatch',
  validAfter: 'invalid_exact_evm_payload_authorization_valid_after',
  validBefore: 'invalid_exact_evm_payload_authorization_valid_before',
  tokenName: 'invalid_exact_evm_token_name_mismatch',
  tokenVersion: 'invalid_exact_evm_token_version_mismatch',
  signature: 'invalid_exact_evm_signature',
  balance: 'invalid_exact_evm_insufficient_balance',
  nonceUsed: 'invalid_exact_evm_nonce_already_used',
  simulation: 'invalid_exact_evm_transaction_simulation_failed',
  factory: 'eip6492_factory_not_allowed',
  deployment: 'smart_wallet_deployment_failed',
  transaction: 'invalid_exact_evm_transaction_failed',
  pending: 'settlement_pending',
} as const;
