/** Connections that several listeners may hold together: the open-file limit and `limits.max_connections` are such. */
export class ConnectionBudget {
  readonly limit: number
  taken: number

  constructor(limit: number) {
    this.limit = limit
    this.taken = 0
  }

  get isSpent(): boolean {
    return this.taken >= this.limit
  }
}
