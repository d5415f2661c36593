// Texts for a failure to listen on an address, with the remedy, for all kinds of listeners.

/** `error`: of the listen call. */
export function describeListenError({ code, message }: NodeJS.ErrnoException, host: string, port: number): string {
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is in use by another program; stop that one or choose another port`
    case 'EACCES':
      return `this account may not listen on port ${port}; choose a port above 1023 or give the account the right`
    case 'EADDRNOTAVAIL':
      return `this machine has no address ${host}; choose one of its own, 127.0.0.1 or 0.0.0.0`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${host} leads to no address; write an address of this machine`
    default:
      return `cannot listen on ${host} port ${port}: ${message}`
  }
}
