// The door of transports: streams of bytes.

export type { ByteStream, DoorRefusal, Listener } from './byte-stream.ts'
export { DescriptorBudget, listenTcp, type TcpListenOptions } from './tcp.ts'
