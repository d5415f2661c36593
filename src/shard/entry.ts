// Where a shard's thread begins: the source in a checkout, what was built from it in an installed package.

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** For `new Worker(...)`. */
export const shardEntry = new URL(`./worker.${extension}`, import.meta.url)
