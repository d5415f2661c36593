// One end of the channel between two shards, as a link uses it: it sends link buffers, receives them, and closes.

export interface LinkPort {
  /** Receives the link buffers of the other end, in order. Those that arrive before it is set wait; never called after `onClose`. */
  onBuffer: (buffer: ArrayBuffer) => void
  /** Called when the way to the other shard is full, or not any more. Absent: it never is, as between shards of one node. */
  onFullChange?: (isFull: boolean) => void
  /** Called once, when the peer has ended or this port was closed, after everything that was sent. */
  onClose: () => void
  /** Transfers the memory: this end must not read it afterwards. Without effect if the other end is closed. */
  send(buffer: ArrayBuffer): void
  close(): void
}

/** The end of a link whose other end forwards the link buffers to another node. */
export interface ForwardingPort extends LinkPort {
  /** The other end is told with `onFullChange`. */
  sendFull(isFull: boolean): void
}
