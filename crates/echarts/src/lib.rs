//! Makes cargo download the package `charming`, which carries ECharts, and not compile it.
//!
//! Cargo downloads the build-dependencies of every package, but compiles those of a package without a build script for nobody. The build
//! script of `report` copies the chart library from the package's folder. As its own build-dependency, `charming` and what it brings
//! would take a tenth of the time of a build.
