// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/** A contract account with one owner, for tests: ERC-1271 accepts the owner's ECDSA signatures. */
contract TestWallet {
    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (address signer, ECDSA.RecoverError error, ) = ECDSA.tryRecover(hash, signature);
        return error == ECDSA.RecoverError.NoError && signer == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

/** Deploys such wallets at addresses known beforehand, as ERC-6492 needs it. */
contract TestWalletFactory {
    function addressOf(address owner, bytes32 salt) external view returns (address) {
        bytes32 initCodeHash = keccak256(abi.encodePacked(type(TestWallet).creationCode, abi.encode(owner)));
        return
            address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, initCodeHash)))));
    }

    function deploy(address owner, bytes32 salt) external returns (address) {
        return address(new TestWallet{salt: salt}(owner));
    }
}

/** What an EIP-7702 account may delegate to: the account itself is the owner. */
contract TestDelegate {
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        (address signer, ECDSA.RecoverError error, ) = ECDSA.tryRecover(hash, signature);
        return error == ECDSA.RecoverError.NoError && signer == address(this) ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }
}

/**
 * The wallets below attack whoever pays the gas: they accept every signature wherever they take the
 * call for a simulation, and burn all gas that they get in a transaction.
 */
contract GaspriceBurner {
    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        if (tx.gasprice != 0) burn();
        return 0x1626ba7e;
    }
}

/** Tells a transaction by the gas that is left, and by who seems to send it. */
contract GasleftBurner {
    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        if (gasleft() < 5_000_000 && tx.origin != address(0)) burn();
        return 0x1626ba7e;
    }
}

/**
 * Burns as long as an account holds ether, which its owner sends there once the simulation is over:
 * no simulation can foresee that.
 */
contract BalanceBurner {
    address public constant SWITCH = address(uint160(uint256(keccak256("switch"))));

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        if (SWITCH.balance != 0) burn();
        return 0x1626ba7e;
    }
}

/** Tells a block by its base fee: simulations without a fee have none in most nodes. */
contract BasefeeBurner {
    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        if (block.basefee != 0 && tx.gasprice >= block.basefee) burn();
        return 0x1626ba7e;
    }
}

/** Uses up the gas of this call, all of it. */
function burn() pure {
    assembly {
        invalid()
    }
}
