// The WebSocket library. Two files use it: one for accepted connections, one for outgoing ones.

export { type RawData, WebSocket, WebSocketServer } from 'ws'
