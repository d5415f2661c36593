/** Replaces a secret. */
export const mask = '******'
