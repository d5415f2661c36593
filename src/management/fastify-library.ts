// The HTTP framework. All files of the server import it from here.

export { default as fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
