// dashboard: the web interface of the broker.

import { listOf } from '../schema/collections.ts'
import { bind } from '../schema/bind.ts'
import { boolean, optional, text } from '../schema/setting-type.ts'
import { section, setting } from '../schema/setting.ts'

const origin = text({
  form: { pattern: /^https?:\/\/[^\s/?#@]+$/, name: 'an origin such as https://broker.example' },
})

export const dashboard = section('The web page of the broker, served under /dashboard by the listener of the API.', {
  enable: setting(boolean, true, { description: 'Whether the page is served.', takes: 'at-once' }),
  bind: setting(optional(bind, 'none'), undefined, {
    description:
      'Address and port of a listener of its own for page and API, beside that of `http_server`, such as 127.0.0.1:18083. Served only with `http_server.enable`.',
    takes: 'at-once',
  }),
  allow_origins: setting(listOf(origin, 64), [], {
    description: 'Origins of reverse proxies that change the Host header: their pages may use the API.',
    takes: 'at-once',
  }),
})
