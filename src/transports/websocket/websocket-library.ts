// The WebSocket library. Two files use it: for accepted and for outgoing connections.

export { type RawData, WebSocket, WebSocketServer } from 'ws'
