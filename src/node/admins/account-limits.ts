/** Accounts and API keys together, of one node. */
export const maxAdmins = 10_000
