export async function largeCharacter() {}
