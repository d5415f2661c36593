// The entry file of the link thread: the source in a checkout, its build in an installed package.

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

/** URL for `new Worker(...)`. */
export const linkThreadEntry = new URL(`./link-worker.${extension}`, import.meta.url)
