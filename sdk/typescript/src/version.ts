/** The version of this package, as in its package.json. */
export const VERSION = '2.0.0';
