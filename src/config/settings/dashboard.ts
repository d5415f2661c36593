// dashboard: the web interface of the broker.

import { listOf, textMap } from '../schema/collections.ts'
import { bind } from '../schema/bind.ts'
import { boolean, choice, optional, text } from '../schema/setting-type.ts'
import { section, setting } from '../schema/setting.ts'

const origin = text({
  form: { pattern: /^https?:\/\/[^\s/?#@]+$/, name: 'an origin such as https://broker.example' },
})

const atOnce = { appliesOn: 'at-once' } as const

const address = text({
  maxBytes: 2_048,
  form: { pattern: /^https?:\/\/[^\s?#@]+$/, name: 'an address such as https://login.example/realms/plant' },
})
const claim = text({ maxBytes: 256 })

const oidc = section(
  'Login to the dashboard with an OpenID Connect provider (authorization code with PKCE), in addition to user name and password. Setting `issuer` enables it.',
  {
    issuer: setting(optional(address, 'none'), undefined, {
      ...atOnce,
      description:
        'URL of the OpenID provider, exactly as `issuer` in its discovery document at /.well-known/openid-configuration. https, or http on loopback.',
    }),
    client_id: setting(optional(text({ maxBytes: 1_024 }), 'none'), undefined, {
      ...atOnce,
      description: 'Client ID of the broker at the OpenID provider.',
    }),
    client_secret: setting(optional(text({ maxBytes: 4_096 }), 'none'), undefined, {
      field: 'clientSecret',
      ...atOnce,
      description: 'Client secret of the broker at the OpenID provider; none for a public client.',
      isSecret: true,
    }),
    redirect_uri: setting(optional(address, 'none'), undefined, {
      ...atOnce,
      description:
        'URL that the provider sends the browser back to: the address of the dashboard as browsers see it, such as https://broker.example/dashboard/. Register the same URL at the provider.',
    }),
    scopes: setting(
      listOf(text({ form: { pattern: /^[!#-[\]-~]{1,128}$/, name: 'a scope such as profile' } }), 32),
      ['openid'],
      {
        field: 'scopes',
        ...atOnce,
        description:
          'Scopes that are requested; they must include `openid`. Some providers include roles only with an additional scope.',
      },
    ),
    username_claim: setting(claim, 'sub', {
      field: 'usernameClaim',
      ...atOnce,
      description:
        'Name of the claim that contains the account name. It must be one that users cannot change and that the provider never gives to another user.',
    }),
    role_claim: setting(claim, 'roles', {
      field: 'roleClaim',
      ...atOnce,
      description:
        'Name of the claim that contains one or several roles or groups. A dot separates the levels of an object: realm_access.roles.',
    }),
    roles: setting(textMap, new Map(), {
      ...atOnce,
      description:
        'Role of the account for each value of the claim: administrator, viewer, ns:NAMESPACE::administrator or ns:NAMESPACE::viewer. The first entry that matches decides.',
    }),
    default_role: setting(choice(['none', 'viewer', 'administrator']), 'none', {
      field: 'defaultRole',
      ...atOnce,
      description: 'Role of users whose claim matches no entry of dashboard.oidc.roles. none: they are refused.',
    }),
  },
)

export const dashboard = section(
  'The dashboard: the web interface of the broker, which the HTTP server of the API serves at /dashboard.',
  {
    enable: setting(boolean, true, { description: 'Whether the dashboard is served.', appliesOn: 'at-once' }),
    bind: setting(optional(bind, 'none'), undefined, {
      field: 'bind',
      description:
        'Address and port of an additional HTTP listener for dashboard and API, such as 127.0.0.1:18083. It requires `http_server.enable`.',
      appliesOn: 'at-once',
    }),
    allow_origins: setting(listOf(origin, 64), [], {
      field: 'allowedOrigins',
      description:
        'Origins of reverse proxies that change the Host header, such as https://broker.example. Pages of these origins may use the API.',
      appliesOn: 'at-once',
    }),
    oidc,
  },
)
