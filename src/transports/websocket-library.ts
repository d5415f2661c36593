// The library of WebSocket, which two files work with: one for those who come, one for those to whom we go.

export { type RawData, WebSocket, WebSocketServer } from 'ws'
