(class_declaration name: (identifier) @name) @definition.class
(class_heritage (identifier) @inherit)
