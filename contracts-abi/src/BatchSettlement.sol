// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Multicall} from "@openzeppelin/contracts/utils/Multicall.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/** Who pays whom with which token, and who signs for either side. The hash of it is the channel. */
struct ChannelConfig {
    address payer;
    address payerAuthorizer;
    address receiver;
    address receiverAuthorizer;
    address token;
    uint40 withdrawDelay;
    bytes32 salt;
}

/** Brings the tokens of a deposit to the settlement contract, which calls it and no one else. */
interface IDepositCollector {
    function collect(ChannelConfig calldata config, bytes32 channelId, uint128 amount, bytes calldata data) external;
}

/**
 * The settlement contract of x402's `batch-settlement` scheme for the local development chain. It
 * keeps the interface and the rules of the deployed contract, and shares no code with it.
 *
 * Its runtime code is written to the canonical address without running a constructor. So nothing
 * here depends on immutables or on initialised storage: the EIP-712 domain is built from the address
 * at which the code sits, and the guard against re-entry uses transient storage.
 */
contract BatchSettlement is Multicall, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    struct Voucher {
        ChannelConfig channel;
        uint128 maxClaimableAmount;
    }

    struct VoucherClaim {
        Voucher voucher;
        bytes signature;
        uint128 totalClaimed;
    }

    /** `balance` is what was deposited less refunds and withdrawals; a claim does not lower it. */
    struct Channel {
        uint128 balance;
        uint128 totalClaimed;
    }

    struct Withdrawal {
        uint128 amount;
        uint40 initiatedAt;
    }

    struct Receiver {
        uint128 totalClaimed;
        uint128 totalSettled;
    }

    uint40 public constant MIN_WITHDRAW_DELAY = 15 minutes;
    uint40 public constant MAX_WITHDRAW_DELAY = 30 days;

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 public constant CHANNEL_CONFIG_TYPEHASH =
        keccak256(
            "ChannelConfig(address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,uint40 withdrawDelay,bytes32 salt)"
        );
    bytes32 public constant VOUCHER_TYPEHASH = keccak256("Voucher(bytes32 channelId,uint128 maxClaimableAmount)");
    bytes32 public constant REFUND_TYPEHASH = keccak256("Refund(bytes32 channelId,uint256 nonce,uint128 amount)");
    bytes32 public constant CLAIM_ENTRY_TYPEHASH =
        keccak256("ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)");
    bytes32 public constant CLAIM_BATCH_TYPEHASH =
        keccak256(
            "ClaimBatch(ClaimEntry[] claims)ClaimEntry(bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed)"
        );

    mapping(bytes32 channelId => Channel) public channels;
    mapping(bytes32 channelId => Withdrawal) public pendingWithdrawals;
    mapping(bytes32 channelId => uint256) public refundNonce;
    mapping(address receiver => mapping(address token => Receiver)) public receivers;

    event ChannelCreated(bytes32 indexed channelId, ChannelConfig config);
    event Deposited(bytes32 indexed channelId, address indexed sender, uint128 amount, uint128 newBalance);
    event Claimed(bytes32 indexed channelId, address indexed sender, uint128 claimAmount, uint128 newTotalClaimed);
    event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount);
    event Refunded(bytes32 indexed channelId, address indexed sender, uint128 amount);
    event WithdrawInitiated(bytes32 indexed channelId, uint128 amount, uint40 finalizeAfter);
    event WithdrawFinalized(bytes32 indexed channelId, address indexed sender, uint128 amount);

    error InvalidChannel();
    error WithdrawDelayOutOfRange();
    error InvalidCollector();
    error ZeroDeposit();
    error DepositCollectionFailed();
    error EmptyBatch();
    error NotAuthorizedToClaim();
    error NotReceiverAuthorizer();
    error InvalidSignature();
    error ClaimExceedsCeiling();
    error ClaimExceedsBalance();
    error NotAuthorizedToRefund();
    error InvalidRefundNonce();
    error ZeroRefund();
    error NotAuthorizedToWithdraw();
    error NothingToWithdraw();
    error WithdrawAmountExceedsAvailable();
    error WithdrawalAlreadyPending();
    error WithdrawalNotPending();
    error WithdrawDelayNotElapsed();

    // ---- Deposit: anyone may relay it; the collector proves that the payer agreed ----

    function deposit(
        ChannelConfig calldata config,
        uint128 amount,
        address collector,
        bytes calldata collectorData
    ) external nonReentrant {
        if (
            config.payer == address(0) ||
            config.receiver == address(0) ||
            config.receiverAuthorizer == address(0) ||
            config.token == address(0)
        ) revert InvalidChannel();
        if (config.withdrawDelay < MIN_WITHDRAW_DELAY || config.withdrawDelay > MAX_WITHDRAW_DELAY) {
            revert WithdrawDelayOutOfRange();
        }
        if (collector == address(0)) revert InvalidCollector();
        if (amount == 0) revert ZeroDeposit();

        bytes32 channelId = getChannelId(config);
        Channel storage channel = channels[channelId];
        uint128 before = channel.balance;
        uint128 balance = before + amount;
        channel.balance = balance;
        if (before == 0) emit ChannelCreated(channelId, config);

        uint256 held = IERC20(config.token).balanceOf(address(this));
        IDepositCollector(collector).collect(config, channelId, amount, collectorData);
        if (IERC20(config.token).balanceOf(address(this)) != held + amount) revert DepositCollectionFailed();
        emit Deposited(channelId, msg.sender, amount, balance);
    }

    // ---- Claim: bookkeeping only; one bad row reverts them all ----

    /** Claims by the receiver's side itself; no signature of the authorizer. */
    function claim(VoucherClaim[] calldata voucherClaims) external nonReentrant {
        if (voucherClaims.length == 0) revert EmptyBatch();
        for (uint256 row = 0; row < voucherClaims.length; ++row) {
            ChannelConfig calldata config = voucherClaims[row].voucher.channel;
            if (msg.sender != config.receiver && msg.sender != config.receiverAuthorizer) {
                revert NotAuthorizedToClaim();
            }
            _claim(voucherClaims[row], getChannelId(config));
        }
    }

    /** Claims by anyone, with one signature of the authorizer that all rows share. */
    function claimWithSignature(
        VoucherClaim[] calldata voucherClaims,
        bytes calldata authorizerSignature
    ) external nonReentrant {
        if (voucherClaims.length == 0) revert EmptyBatch();
        address authorizer = voucherClaims[0].voucher.channel.receiverAuthorizer;
        bytes32[] memory ids = _channelIds(voucherClaims);
        for (uint256 row = 1; row < voucherClaims.length; ++row) {
            if (voucherClaims[row].voucher.channel.receiverAuthorizer != authorizer) revert NotReceiverAuthorizer();
        }
        _requireSigned(authorizer, _claimBatchDigest(voucherClaims, ids), authorizerSignature);
        for (uint256 row = 0; row < voucherClaims.length; ++row) {
            _claim(voucherClaims[row], ids[row]);
        }
    }

    function _claim(VoucherClaim calldata row, bytes32 channelId) private {
        Channel storage channel = channels[channelId];
        uint128 recorded = channel.totalClaimed;
        // An older total than the recorded one is no error: a later claim came first.
        if (row.totalClaimed <= recorded) return;
        if (row.totalClaimed > row.voucher.maxClaimableAmount) revert ClaimExceedsCeiling();
        if (row.totalClaimed > channel.balance) revert ClaimExceedsBalance();

        ChannelConfig calldata config = row.voucher.channel;
        bytes32 digest = getVoucherDigest(channelId, row.voucher.maxClaimableAmount);
        if (config.payerAuthorizer == address(0)) {
            _requireSigned(config.payer, digest, row.signature);
        } else {
            // Plain ECDSA, also where the authorizer has code.
            (address signer, ECDSA.RecoverError error, ) = ECDSA.tryRecoverCalldata(digest, row.signature);
            if (error != ECDSA.RecoverError.NoError || signer != config.payerAuthorizer) revert InvalidSignature();
        }

        uint128 amount = row.totalClaimed - recorded;
        channel.totalClaimed = row.totalClaimed;
        receivers[config.receiver][config.token].totalClaimed += amount;
        emit Claimed(channelId, msg.sender, amount, row.totalClaimed);
    }

    /** Pays everything claimed and not yet paid to the receiver, in one transfer. Silent when there is nothing. */
    function settle(address receiver, address token) external nonReentrant {
        Receiver storage entry = receivers[receiver][token];
        uint128 amount = entry.totalClaimed - entry.totalSettled;
        if (amount == 0) return;
        entry.totalSettled = entry.totalClaimed;
        IERC20(token).safeTransfer(receiver, amount);
        emit Settled(receiver, token, msg.sender, amount);
    }

    // ---- Refund: the receiver's side gives back what is free ----

    function refund(ChannelConfig calldata config, uint128 amount) external nonReentrant {
        if (msg.sender != config.receiver && msg.sender != config.receiverAuthorizer) revert NotAuthorizedToRefund();
        bytes32 channelId = getChannelId(config);
        ++refundNonce[channelId];
        _refund(config, channelId, amount);
    }

    function refundWithSignature(
        ChannelConfig calldata config,
        uint128 amount,
        uint256 nonce,
        bytes calldata receiverAuthorizerSignature
    ) external nonReentrant {
        bytes32 channelId = getChannelId(config);
        if (nonce != refundNonce[channelId]) revert InvalidRefundNonce();
        _requireSigned(
            config.receiverAuthorizer,
            getRefundDigest(channelId, nonce, amount),
            receiverAuthorizerSignature
        );
        refundNonce[channelId] = nonce + 1;
        _refund(config, channelId, amount);
    }

    function _refund(ChannelConfig calldata config, bytes32 channelId, uint128 amount) private {
        if (amount == 0) revert ZeroRefund();
        uint128 paid = _takeFree(channelId, amount);
        if (paid == 0) return;
        IERC20(config.token).safeTransfer(config.payer, paid);
        emit Refunded(channelId, msg.sender, paid);
    }

    // ---- Withdrawal: the payer takes back what is free, after the delay ----

    function initiateWithdraw(ChannelConfig calldata config, uint128 amount) external nonReentrant {
        _requirePayerSide(config);
        bytes32 channelId = getChannelId(config);
        if (amount == 0) revert NothingToWithdraw();
        if (pendingWithdrawals[channelId].initiatedAt != 0) revert WithdrawalAlreadyPending();
        Channel storage channel = channels[channelId];
        if (amount > channel.balance - channel.totalClaimed) revert WithdrawAmountExceedsAvailable();
        uint40 now40 = uint40(block.timestamp);
        pendingWithdrawals[channelId] = Withdrawal({amount: amount, initiatedAt: now40});
        emit WithdrawInitiated(channelId, amount, now40 + config.withdrawDelay);
    }

    /** Pays what is free now, at most what was asked for: a claim in the meantime comes first. */
    function finalizeWithdraw(ChannelConfig calldata config) external nonReentrant {
        _requirePayerSide(config);
        bytes32 channelId = getChannelId(config);
        Withdrawal memory pending = pendingWithdrawals[channelId];
        if (pending.initiatedAt == 0) revert WithdrawalNotPending();
        if (block.timestamp < uint256(pending.initiatedAt) + config.withdrawDelay) revert WithdrawDelayNotElapsed();
        delete pendingWithdrawals[channelId];
        uint128 paid = _takeFree(channelId, pending.amount);
        if (paid != 0) IERC20(config.token).safeTransfer(config.payer, paid);
        emit WithdrawFinalized(channelId, msg.sender, paid);
    }

    function _requirePayerSide(ChannelConfig calldata config) private view {
        if (msg.sender != config.payer && msg.sender != config.payerAuthorizer) revert NotAuthorizedToWithdraw();
    }

    /** Lowers the balance by `amount`, or by what is not claimed where that is less; returns by how much. */
    function _takeFree(bytes32 channelId, uint128 amount) private returns (uint128 taken) {
        Channel storage channel = channels[channelId];
        uint128 balance = channel.balance;
        uint128 free = balance - channel.totalClaimed;
        taken = amount < free ? amount : free;
        channel.balance = balance - taken;
    }

    // ---- EIP-712 ----

    function getChannelId(ChannelConfig calldata config) public view returns (bytes32) {
        return _typedDataHash(keccak256(abi.encode(CHANNEL_CONFIG_TYPEHASH, config)));
    }

    function getVoucherDigest(bytes32 channelId, uint128 maxClaimableAmount) public view returns (bytes32) {
        return _typedDataHash(keccak256(abi.encode(VOUCHER_TYPEHASH, channelId, maxClaimableAmount)));
    }

    function getRefundDigest(bytes32 channelId, uint256 nonce, uint128 amount) public view returns (bytes32) {
        return _typedDataHash(keccak256(abi.encode(REFUND_TYPEHASH, channelId, nonce, amount)));
    }

    function getClaimBatchDigest(VoucherClaim[] calldata voucherClaims) external view returns (bytes32) {
        return _claimBatchDigest(voucherClaims, _channelIds(voucherClaims));
    }

    function _channelIds(VoucherClaim[] calldata voucherClaims) private view returns (bytes32[] memory ids) {
        ids = new bytes32[](voucherClaims.length);
        for (uint256 row = 0; row < ids.length; ++row) ids[row] = getChannelId(voucherClaims[row].voucher.channel);
    }

    function _claimBatchDigest(
        VoucherClaim[] calldata voucherClaims,
        bytes32[] memory ids
    ) private view returns (bytes32) {
        bytes32[] memory entries = new bytes32[](ids.length);
        for (uint256 row = 0; row < ids.length; ++row) {
            VoucherClaim calldata entry = voucherClaims[row];
            entries[row] = keccak256(
                abi.encode(CLAIM_ENTRY_TYPEHASH, ids[row], entry.voucher.maxClaimableAmount, entry.totalClaimed)
            );
        }
        return
            _typedDataHash(keccak256(abi.encode(CLAIM_BATCH_TYPEHASH, keccak256(abi.encodePacked(entries)))));
    }

    function _typedDataHash(bytes32 structHash) private view returns (bytes32) {
        return
            MessageHashUtils.toTypedDataHash(
                keccak256(
                    abi.encode(
                        DOMAIN_TYPEHASH,
                        keccak256("x402 Batch Settlement"),
                        keccak256("1"),
                        block.chainid,
                        address(this)
                    )
                ),
                structHash
            );
    }

    /** ECDSA of an account without code, ERC-1271 of one with code. */
    function _requireSigned(address signer, bytes32 digest, bytes calldata signature) private view {
        if (!SignatureChecker.isValidSignatureNowCalldata(signer, digest, signature)) revert InvalidSignature();
    }
}

interface IReceiveWithAuthorization {
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;
}

/**
 * Brings the tokens of a deposit by an EIP-3009 `ReceiveWithAuthorization` to this contract. Its nonce
 * names the channel, so that nobody can use the authorization for another one.
 */
contract DepositCollector is IDepositCollector {
    using SafeERC20 for IERC20;

    address public constant SETTLEMENT = 0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003;

    error OnlySettlement();

    /** `data` is `abi.encode(uint256 validAfter, uint256 validBefore, uint256 salt, bytes signature)`. */
    function collect(
        ChannelConfig calldata config,
        bytes32 channelId,
        uint128 amount,
        bytes calldata data
    ) external override {
        // Anybody else would move a payer's tokens without a channel that has them.
        if (msg.sender != SETTLEMENT) revert OnlySettlement();
        (uint256 validAfter, uint256 validBefore, uint256 salt, bytes memory signature) = abi.decode(
            data,
            (uint256, uint256, uint256, bytes)
        );
        IReceiveWithAuthorization(config.token).receiveWithAuthorization(
            config.payer,
            address(this),
            amount,
            validAfter,
            validBefore,
            keccak256(abi.encode(channelId, salt)),
            signature
        );
        IERC20(config.token).safeTransfer(SETTLEMENT, amount);
    }
}
