// A port of a `MessageChannel` as the end of a link. A post is transferred and not copied: the receiver reads the very
// memory that the sender wrote. The port closes by itself when the thread at its other end is gone.

import type { MessagePort } from 'node:worker_threads'
import type { LinkPort } from './link-port.ts'

const ignore = (): void => {}

class MessagePortEnd implements LinkPort {
  onPost: (post: ArrayBuffer) => void = ignore
  onClose: () => void = ignore
  readonly #port: MessagePort

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (post: ArrayBuffer) => this.onPost(post))
    port.on('close', () => this.onClose())
  }

  post(post: ArrayBuffer): void {
    this.#port.postMessage(post, [post])
  }

  close(): void {
    this.#port.close()
  }
}

/** What comes is handed out from the next turn of the event loop on. */
export function linkPortOver(port: MessagePort): LinkPort {
  return new MessagePortEnd(port)
}
