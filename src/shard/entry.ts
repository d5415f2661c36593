// The entry file of a shard's thread: the source in a checkout, its build in an installed package.

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** URL for `new Worker(...)`. */
export const shardEntry = new URL(`./worker.${extension}`, import.meta.url)
