// A message for the user, from the server or the library.
export class Problem extends Error {}
