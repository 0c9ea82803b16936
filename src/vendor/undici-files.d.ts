// The files of undici that undici.ts imports have no types of their own; it gives them their types.
declare module 'undici/lib/*' {
  const part: never;
  export = part;
}
