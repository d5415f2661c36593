/**
 * Bytes of a link that this version cannot read: from another version, or damaged. It ends the link, and never the shard. The message names the
 * field and its value or place, but no content of messages.
 */
export class LinkDecodeError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'LinkDecodeError'
  }
}
