export class Session {}
