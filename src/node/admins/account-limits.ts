/** Maximum number of accounts and API keys of one node, together. */
export const maxAdmins = 10_000
