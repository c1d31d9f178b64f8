import { WebSocket } from 'ws';

/** What a socket tells; nothing comes after `onClose`, which comes once. */
export interface SocketEvents {
  onOpen(): void;
  onText(text: string): void;
  /** It is over, for this reason: never with the address in it, which may hold a key. */
  onClose(why: string): void;
}

/** A socket that is open, or about to be. */
export interface Socket {
  send(text: string): void;
  /** Drops the connection at once. */
  close(): void;
}

/** The way to a WebSocket endpoint; a real one unless a test has another. */
export type OpenSocket = (url: string, events: SocketEvents) => Socket;

/** Until the connection must be open. */
const HANDSHAKE_MS = 5_000;
/** Bytes of one message at the most; a header has about two thousand. */
const MESSAGE_BYTES_MAX = 64 * 1024;

/** A WebSocket (RFC 6455) over TCP or TLS: no compression, no redirects, no binary messages. */
export const openWebSocket: OpenSocket = (url, events) => {
  const socket = new WebSocket(url, {
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
  });
  let why = 'the connection was closed';
  socket.on('open', () => events.onOpen());
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) events.onText(data.toString('utf8'));
    else {
      why = 'a binary message';
      socket.terminate();
    }
  });
  socket.on('error', (error) => {
    why = 'code' in error ? String(error.code) : error.message.slice(0, 100);
  });
  socket.on('close', () => events.onClose(why));
  return { send: (text) => socket.send(text, () => undefined), close: () => socket.terminate() };
};
