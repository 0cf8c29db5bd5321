/** Names of a Jinja template's scope and its enclosing scopes. */
import * as Values from "./Values.ts"

export class Scope {
  private readonly names = new Map<string, Values.Value>()
  private readonly around: Scope | undefined

  constructor(around?: Scope) {
    this.around = around
  }

  set(name: string, value: Values.Value): void {
    this.names.set(name, value)
  }

  get(name: string): Values.Value {
    if (this.names.has(name)) return this.names.get(name)
    return this.around === undefined ? new Values.Undefined(`'${name}'`) : this.around.get(name)
  }
}
