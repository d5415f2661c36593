// Settings of TLS on a connection to a remote broker or service.

import { path } from './path-type.ts'
import { section, setting } from './setting.ts'
import { boolean, choice, optional, text } from './setting-type.ts'

// Sample files contain "" for unused settings.
const maybeText = optional(text({ isEmptyAllowed: true }), 'none')
const maybeFile = optional(path('working-directory', { isEmptyAllowed: true }), 'none')

export const outgoingTls = section('TLS of the connection to the remote broker or service.', {
  enable: setting(boolean, false, { description: 'Whether the connection uses TLS.' }),
  keyfile: setting(maybeFile, undefined, {
    description: 'PEM file of the private key of the client certificate in certfile.',
  }),
  key_password: setting(maybeText, undefined, { description: 'Password of the private key.', isSecret: true }),
  certfile: setting(maybeFile, undefined, {
    description: 'PEM file of the client certificate that this broker presents to the server. It needs keyfile.',
  }),
  cacertfile: setting(maybeFile, undefined, {
    description:
      'PEM file of the certificate authorities that the certificate of the server is checked against. Without it, those of Node.js.',
  }),
  verify_peer: setting(boolean, true, { description: 'Whether the certificate of the server is checked.' }),
  verify: setting(optional(choice(['verify_peer', 'verify_none']), 'none'), undefined, {
    description:
      'The same as verify_peer, in the form of EMQX: verify_peer is true, verify_none is false. If both are set, verify applies.',
  }),
  fail_if_no_peer_cert: setting(boolean, false, {
    description: 'Whether the server must present a certificate.',
  }),
})
