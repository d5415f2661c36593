// Names of shards in messages between nodes. Numbers of peers mean something within one core only.

/** One run of a Godwit process: 16 hexadecimal digits, random. */
export type Life = string

/** A stored shard, by its number in the cluster; or another shard of one life, which ends with that life. */
export type PeerName = { readonly stored: number } | { readonly life: Life; readonly thread: number }

const lifePattern = /^[0-9a-f]{16}$/

/** Returns whether `text` has the form of a life. */
export function isLife(text: string): boolean {
  return lifePattern.test(text)
}
