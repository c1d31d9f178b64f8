// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/**
 * Many calls in one transaction, each with a gas cap of its own, so that no call can use up its
 * neighbours' gas. Calls that fail are passed over; who wants to know reads the logs.
 */
contract CappedBatch {
    struct Call {
        address target;
        bytes data;
    }

    /** Less gas than the calls together may use: nothing may run short, so nothing is done. */
    error TooLittleGas();

    /**
     * Makes the calls in order, with at most `gasMax` for each. Return data is not copied, so that
     * it costs nothing here.
     */
    function run(uint256 gasMax, Call[] calldata calls) external {
        for (uint256 index = 0; index < calls.length; ++index) {
            // EIP-150: a call passes on at most 63/64 of what is left.
            if ((gasleft() * 63) / 64 < gasMax + 3_000) revert TooLittleGas();
            address target = calls[index].target;
            bytes calldata data = calls[index].data;
            assembly ("memory-safe") {
                let start := mload(0x40)
                calldatacopy(start, data.offset, data.length)
                pop(call(gasMax, target, 0, start, data.length, 0, 0))
            }
        }
    }

    /** EXTCODEHASH: zero or the hash of nothing for an account without code (EIP-1052). */
    function codeHash(address account) external view returns (bytes32) {
        return account.codehash;
    }
}
