// One end of a way between two shards, as a link sees it: posts go, posts come, it ends.

export interface LinkPort {
  /** What the other end has posted, in order. Set before the first one can come; never called after `onClose`. */
  onBuffer: (send: ArrayBuffer) => void
  /** The other end is gone, or this one was closed. Called once, behind everything that had been posted. */
  onClose: () => void
  /** Transfers the memory: this end must not read it afterwards. Without effect if the other end is closed. */
  send(send: ArrayBuffer): void
  close(): void
}
