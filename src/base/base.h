#pragma once
/// The room for what every other room needs and no room is about: errors, files, JSON, hashing,
/// threads, statistics, progress. It includes nothing of the other rooms.
