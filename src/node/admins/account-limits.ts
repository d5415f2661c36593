/** Accounts and API keys together, of one node. */
export const maxOperators = 10_000
